"""Defects of transactional producers."""
