"""Make an agent from a scenario: models, tools, scripted processors, workflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sluiceway import Agent, Tool, ToolContext, Workflow
from sluiceway.models import Reply, ScriptedModel
from tests.conformance.load import Case
from tests.conformance.ops import ASYNC_OPS, OPS, Working, when_holds
from tests.conformance.trace import Trace, is_traced, stage

__all__ = ["Bench", "build_bench", "call_options"]

LISTS = ("input_processors", "output_processors", "error_processors")


class TracedModel(ScriptedModel):
    """A scripted model that notes each call in the hook order."""

    def __init__(self, name: str, replies: Sequence[Reply], trace: Trace) -> None:
        super().__init__(replies, model_id=name)
        self.name = name
        self.trace = trace

    def stream(self, request: Any) -> Any:
        """Answer as the script says."""
        self.trace.append(f"{self.name}#{len(self.calls) + 1}")
        return super().stream(request)


class ScriptedProcessor:
    """A processor with the hooks that a scenario gives it, and no others."""

    def __init__(self, spec: Mapping[str, Any], bench: Bench) -> None:
        self.id: str = spec["id"]
        self.process_data_parts: bool = spec.get("process_data_parts", False)
        self.on_violation = violation_noter(self.id, spec.get("on_violation", False), bench.trace)
        for hook, ops in spec["hooks"].items():
            setattr(self, hook, scripted_hook(self.id, hook, ops, bench))


@dataclass(slots=True)
class Bench:
    """What one run of a scenario needs: the agent, and where it leaves its marks."""

    case: Case
    trace: Trace = field(default_factory=list[str])
    models: dict[str, TracedModel] = field(default_factory=dict[str, TracedModel])
    store: Any = None
    agent: Any = None

    @property
    def own_model(self) -> TracedModel:
        """The agent's own model."""
        return self.models["model"]


def violation_noter(processor_id: str, mode: bool | str, trace: Trace) -> Callable[[Any], None] | None:
    """Return what notes the violations of a processor: none, quietly, or raising (`"throw"`)."""
    if not mode:
        return None

    def on_violation(violation: Any) -> None:
        trace.append(f"{processor_id}.on_violation:{violation.message}")
        if mode == "throw":
            raise RuntimeError("the callback of a violation broke")

    return on_violation


def scripted_hook(processor_id: str, hook: str, ops: Sequence[Mapping[str, Any]], bench: Bench) -> Any:
    """Return a hook that leaves its mark and runs the ops; a plain function where none of them waits."""

    def start(ctx: Any) -> Working:
        mark = stage(processor_id, hook, ctx)
        if mark is not None:
            bench.trace.append(mark)
        part = ctx.part if hook == "process_output_stream" else None
        return Working(processor_id, hook, ctx, bench.trace, bench.models, chunk=part)

    def due(op: Mapping[str, Any], ctx: Any) -> bool:
        return when_holds(op.get("when", {}), hook, ctx)

    def run(ctx: Any) -> Any:
        work = start(ctx)
        for op in ops:
            if due(op, ctx):
                OPS[op["op"]](work, op)
        return work.returned()

    async def run_waiting(ctx: Any) -> Any:
        work = start(ctx)
        for op in ops:
            if due(op, ctx) and (waits := OPS[op["op"]](work, op)) is not None:
                await waits
        return work.returned()

    return run_waiting if any(op["op"] in ASYNC_OPS for op in ops) else run


def build_entry(spec: Mapping[str, Any], bench: Bench) -> Any:
    """Return a scripted processor or a workflow of them."""
    if "workflow" not in spec:
        return ScriptedProcessor(spec, bench)
    flow = Workflow(spec["workflow"]["id"])
    for step in spec["workflow"]["steps"]:
        flow = add_step(flow, spec["workflow"]["id"], step, bench)
    return flow.commit()


def add_step(flow: Any, flow_id: str, step: Mapping[str, Any], bench: Bench) -> Any:
    """Return the workflow with one more entry."""
    if "then" in step:
        return flow.then(build_entry(step["then"], bench))
    if "parallel" in step:
        return flow.parallel([build_entry(spec, bench) for spec in step["parallel"]])
    if "branch" in step:
        return flow.branch([(condition(test), build_entry(spec, bench)) for test, spec in step["branch"]])
    return flow.map(noted_map(flow_id, step, bench))


def condition(test: str | Mapping[str, str]) -> Callable[[Any], bool]:
    """Return the condition of a branch: `always`, `never`, or `{contains: text}`."""
    if isinstance(test, str):
        return {"always": lambda _: True, "never": lambda _: False}[test]
    wanted = test["contains"]

    def contains(call: Any) -> bool:
        if call.hook in ("process_output_step", "process_output_result"):
            return wanted in call.text
        return any(wanted in message.text for message in call.messages)

    return contains


def noted_map(flow_id: str, step: Mapping[str, Any], bench: Bench) -> Callable[[Mapping[str, Any]], Any]:
    """Return a map function that notes its keys and picks the result that the scenario names."""
    quiet = bench.case.scenario.get("ignore_map_on_control_chunks", False)

    def pick(results: Mapping[str, Any]) -> Any:
        if not quiet or any(is_traced(part) for call in results.values() for part in call.parts):
            bench.trace.append(f"{flow_id}.map:{','.join(sorted(results))}")
        if step.get("map_any"):
            (only,) = results.values()
            return only
        return results[step["map"]]

    return pick


def build_reply(spec: Mapping[str, Any]) -> Reply:
    """Return one scripted answer."""
    return Reply(
        text=spec.get("text", []),
        reasoning=spec.get("reasoning", []),
        tool_calls=spec.get("tools", []),
        finish_reason=spec.get("finish_reason"),
        error=spec.get("error"),
        stream_error=spec.get("stream_error"),
    )


def build_tool(name: str, spec: Mapping[str, Any], trace: Trace) -> Tool:
    """Return a tool that leaves its mark, may write a data chunk, and returns or raises."""

    async def run(ctx: ToolContext, **_: object) -> object:
        trace.append(f"tool:{name}")
        if "writes" in spec:
            await ctx.writer.custom(spec["writes"]["type"], spec["writes"]["data"])
        if "error" in spec:
            raise RuntimeError(spec["error"])
        return spec["result"]

    return Tool(name=name, description=f"The tool {name}.", parameters={"type": "object"}, run=run)


def build_lists(source: Mapping[str, Any], bench: Bench) -> dict[str, list[Any]]:
    """Return those processor lists that a scenario or a call gives."""
    return {name: [build_entry(spec, bench) for spec in source[name]] for name in LISTS if name in source}


def call_options(call: Mapping[str, Any], bench: Bench) -> dict[str, Any]:
    """Return the options of one call of the agent."""
    options: dict[str, Any] = {k: call[k] for k in ("max_processor_retries", "max_steps") if k in call}
    if bench.store is not None:
        options["memory"] = {"thread": "t1", "resource": "u1"}
    return options | build_lists(call, bench)


def build_bench(case: Case) -> Bench:
    """Return a fresh agent for a scenario."""
    bench, scenario = Bench(case), case.scenario
    scripts = {"model": scenario["model"], **scenario.get("models", {})}
    for name, replies in scripts.items():
        bench.models[name] = TracedModel(name, [build_reply(reply) for reply in replies], bench.trace)
    agent = dict(scenario.get("agent", {}))
    tools = [build_tool(name, spec, bench.trace) for name, spec in agent.pop("tools", {}).items()]
    if "memory" in scenario:
        from tests.conformance import memory  # only the cases that need storage may fail without it

        bench.store, agent["memory"] = memory.build(scenario["memory"])
    options = {"instructions": "sys", **agent, **build_lists(scenario, bench)}
    bench.agent = Agent(id="conformance", model=bench.own_model, tools=tools, **options)
    return bench
