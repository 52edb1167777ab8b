"""A collector that decodes with OpenTelemetry's own package: what runs send has what the conventions require, live and
exported, and an export is the same bytes each time."""

import gzip
import http.server
import json
import os
import subprocess
import tempfile
import threading

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

program = os.environ["PROGRAM"]

# By the conventions: kind, what each span must have, and what it must have where it is available, as it is here.
COMMON = ["gen_ai.operation.name"]
SPANS = {
    "invoke_agent": (Span.SPAN_KIND_INTERNAL, COMMON + ["gen_ai.provider.name"], ["gen_ai.agent.name"]),
    "plan": (Span.SPAN_KIND_INTERNAL, COMMON + ["gen_ai.provider.name"], ["gen_ai.agent.name"]),
    "chat": (
        Span.SPAN_KIND_CLIENT,
        COMMON + ["gen_ai.provider.name"],
        ["gen_ai.request.model", "gen_ai.conversation.id", "gen_ai.output.type", "gen_ai.response.finish_reasons"],
    ),
    "execute_tool": (
        Span.SPAN_KIND_INTERNAL,
        COMMON + ["gen_ai.tool.name"],
        ["gen_ai.agent.name", "gen_ai.tool.call.id", "gen_ai.tool.type"],
    ),
}
BUCKETS = {
    "gen_ai.client.token.usage": [4**power for power in range(14)],
    "gen_ai.client.operation.duration": [0.01 * 2**power for power in range(14)],
}
REPLIES = {
    "planner": '{"goal": "sum", "steps": [{"tool": "calc", "input": "6*7"}, {"tool": "final_answer", "input": "say"}]}',
    "validator": '{"ok": true, "reason": "there is a result", "fix_hint": ""}',
    "writer": "It is 42.",
}


class Handler(http.server.BaseHTTPRequestHandler):
    """Takes what is exported, and answers for a model."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.path.startswith("/v1/chat"):
            turn = ["planner", "validator", "writer"][len(self.server.asked) % 3]
            self.server.asked.append(self.headers["traceparent"])
            usage = {"prompt_tokens": 11, "completion_tokens": 5}
            choice = {"message": {"role": "assistant", "content": REPLIES[turn]}, "finish_reason": "stop"}
            reply = json.dumps({"choices": [choice], "usage": usage}).encode()
        else:
            assert self.headers["content-type"] == "application/x-protobuf", self.headers
            if self.headers["content-encoding"] == "gzip":
                body, self.server.compressed = gzip.decompress(body), self.server.compressed + 1
            self.server.sent.append((self.path, body))
            reply = b""
        self.send_response(200)
        self.send_header("content-length", str(len(reply)))
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_):
        pass


def collector():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.sent, server.asked, server.compressed = [], [], 0
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def spans(server):
    found = []
    for path, body in server.sent:
        if path == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            for resource in request.resource_spans:
                assert value_of(resource.resource.attributes, "service.name") == "planwright"
                for scope in resource.scope_spans:
                    assert scope.scope.name == "planwright" and scope.schema_url
                    found += scope.spans
    return found


def value_of(attributes, key):
    found = [pair.value for pair in attributes if pair.key == key]
    return found and getattr(found[0], found[0].WhichOneof("value"))


def check_spans(found):
    ids = {span.span_id for span in found}
    assert len(ids) == len(found), "an id is one span's"
    roots = [span for span in found if not span.parent_span_id]
    assert len({span.trace_id for span in found}) == len(roots)
    for span in found:
        operation = value_of(span.attributes, "gen_ai.operation.name") or ""
        if not operation:
            assert span.name.startswith("planwright."), span.name
            continue
        kind, required, available = SPANS[operation]
        assert span.kind == kind and span.name.startswith(f"{operation} "), span
        for key in required + available:
            assert value_of(span.attributes, key), f"{span.name} lacks {key}"
        if span.status.code == Status.STATUS_CODE_ERROR:
            assert value_of(span.attributes, "error.type"), span
        if value_of(span.attributes, "server.address"):
            assert value_of(span.attributes, "server.port"), span
        keys = [pair.key for pair in span.attributes]
        assert len(keys) == len(set(keys)), f"{span.name} says something twice: {keys}"
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        assert not span.parent_span_id or span.parent_span_id in ids, f"{span.name} hangs under nothing"
    return {value_of(span.attributes, "gen_ai.operation.name") for span in found}


def check_metrics(server):
    names = set()
    for path, body in server.sent:
        if path != "/v1/metrics":
            continue
        for resource in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in (metric for scope in resource.scope_metrics for metric in scope.metrics):
                names.add(metric.name)
                for point in metric.histogram.data_points:
                    near = zip(point.explicit_bounds, BUCKETS[metric.name], strict=True)
                    assert all(abs(one - other) < 1e-9 for one, other in near), point.explicit_bounds
                    for key in COMMON + ["gen_ai.provider.name", "gen_ai.request.model"]:
                        assert value_of(point.attributes, key), f"{metric.name} lacks {key}"
                    kind = value_of(point.attributes, "gen_ai.token.type")
                    assert bool(kind) == (metric.name == "gen_ai.client.token.usage"), point
    assert names == set(BUCKETS), names


def run(server, *args, code=0, **more):
    given = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": server.url, "NO_PROXY": "*", **more}
    done = subprocess.run([program, *args], env=given, capture_output=True, text=True, check=False)
    assert done.returncode == code, (args, done.stderr)
    return done.stdout


with tempfile.TemporaryDirectory() as folder:
    store = ["--store", f"{folder}/threads.db"]
    live = collector()
    run(live, "run", "--thread", "sum", *store, "--base-url", f"{live.url}/v1", "--model", "m", "What is 6*7?")
    assert check_spans(spans(live)) == set(SPANS)
    check_metrics(live)
    chats = [span for span in spans(live) if span.name == "chat m"]
    told = [f"00-{span.trace_id.hex()}-{span.span_id.hex()}-01" for span in chats]
    assert told == live.asked, "the model was told the span of each call"
    run(live, "run", "--thread", "team", *store, "--offline", "--agent", "research-team", "Compare both offers.")
    check_spans(spans(live))

    exported = [collector(), collector()]
    for server, compression in zip(exported, ["none", "gzip"], strict=True):
        run(server, "export", "otlp", "sum", "team", *store, OTEL_EXPORTER_OTLP_COMPRESSION=compression)
        check_spans(spans(server))
    assert [server.compressed for server in exported] == [0, len(exported[1].sent)]
    assert exported[0].sent == exported[1].sent, "the same bytes each time"
    ids = [{(span.trace_id, span.span_id) for span in spans(server)} for server in (live, exported[0])]
    assert ids[0] == ids[1], "the ids of the run while it went on"
    trace = json.loads(run(live, "export", "chrome", "sum", *store))
    assert any(event["name"] == "execute_tool calc" for event in trace["traceEvents"])
print(f"otlp: {len(spans(live))} spans, metrics, and two exports alike")
