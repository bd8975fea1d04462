"""Figures and the report of a set of runs.

A plot is defined once, in ``plots``, as a ``Figure``: a declaration of axes and series. ``interactive`` draws it in a
browser with plotly.js, ``static`` as PNG or SVG with matplotlib, and ``html`` writes the page around them.
"""
