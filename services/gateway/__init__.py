"""The gateway: the doors that are not gRPC.

REST, OpenAPI, the tools at `/mcp` and the docs page are derived from the protos when the house starts; no
route, schema or tool is written by hand. Every door knows its caller before it reads a body, calls services
over gRPC, and says what went wrong in one form.
"""
