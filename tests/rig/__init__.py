"""What tests stand on: a real Postgres, and the whole house in one process."""
