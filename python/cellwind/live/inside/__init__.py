"""Programs that run inside an end of an emulation, each started as a file of its own.

They use nothing but the standard library, and not even its ``site``, so that they start within some milliseconds and
read nothing of the user's settings: ``python -I -S bulk.py …``.
"""
