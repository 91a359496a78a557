"""How calls travel: the chain around every method, the server, channels to others, who calls, telemetry.

A service brings its servicers and a ping; everything else about being called is here, once.
"""
