"""The demo: a real agent over a sealed store, and a check of every claim made about it."""
