"""Agents: a model in a loop, with processors around every part of it."""

from sluiceway.agent._agent import Agent, AgentInput
from sluiceway.agent._setup import CallOptions
from sluiceway.agent._stream import AgentStream

__all__ = ["Agent", "AgentInput", "AgentStream", "CallOptions"]
