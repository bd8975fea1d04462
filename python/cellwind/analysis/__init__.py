"""From the rows and facts of a run to numbers: means with their intervals, and series over time.

``statistics`` works on one value per replication and needs only the standard library; ``series`` works on the facts
of one replication with numpy. Nothing here draws or writes a file.
"""
