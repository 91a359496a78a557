"""The journal: what finished runs were for and what they came to, searched and read. Runs add to it."""
