"""The command line: one file per command, each with ``add_parser`` and ``execute``; ``main`` puts them together.

Commands import what they need when they run, so that ``cellwind --help`` does not wait for libraries it will not use.
"""
