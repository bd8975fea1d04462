"""Campaigns: many replications of one or more scenarios, run on threads, kept in memory or in a run directory.

``rows`` says what a result row holds, ``runner`` runs, ``store`` keeps, ``results`` is what the caller gets.
"""
