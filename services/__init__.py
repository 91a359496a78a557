"""The services, each in a room of its own. None imports another; they talk by gRPC."""
