"""Transcoding: JSON, paths and queries into messages, and messages into JSON.

What comes in is read strictly and refused by name; what goes out is always of one form. All is put together
from descriptors once; nothing looks at a descriptor while a request is served.
"""
