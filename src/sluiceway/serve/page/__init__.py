"""The page: agents, workflows and the last runs, written on the server, with a little script to keep them fresh."""

from sluiceway.serve.page._page import Page

__all__ = ["Page"]
