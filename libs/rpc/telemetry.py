"""What can be seen of the running house: one log line a call, spans, and counters. Never content."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, ClassVar, TextIO, cast

import orjson
import structlog
from opentelemetry import trace
from opentelemetry.context import Context as SpanContext
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBasedTraceIdRatio
from opentelemetry.trace import Span, SpanKind, format_trace_id
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from libs.refusal import Refused

BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
TRACEPARENT = "traceparent"
CAUSES_MAX = 5
PLACES_MAX = 12
"""Places of an exception that are logged, the innermost."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What is written and exported about calls."""

    PREFIX: ClassVar[str] = "TREERING_"

    log_level: str = "info"
    """What is logged at least: debug, info, warning or error."""
    log_format: str = "auto"
    """How log lines look: json, console, or auto (console on a terminal, json elsewhere)."""
    otlp_endpoint: str = ""
    """Where spans go by OTLP over gRPC, e.g. http://127.0.0.1:4317. Empty: nowhere."""
    trace_ratio: float = 1.0
    """The share of traces that is exported, from 0 to 1. A caller's own decision goes before it."""


class Telemetry:
    """The tracer and the counters of one process."""

    def __init__(self, settings: Settings) -> None:
        """Build what exports and counts; nothing is global."""
        sampler = ParentBasedTraceIdRatio(settings.trace_ratio) if settings.otlp_endpoint else ALWAYS_OFF
        self._provider = TracerProvider(
            sampler=sampler, resource=Resource.create({"service.name": "treering"}), shutdown_on_exit=False
        )
        if settings.otlp_endpoint:
            exporter = OTLPSpanExporter(endpoint=settings.otlp_endpoint)
            self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer("treering")
        self._propagator = TraceContextTextMapPropagator()
        self.registry = CollectorRegistry()
        self.calls = Counter(
            "treering_rpc_calls",
            "Calls served, by method and code.",
            ("method", "code"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "treering_rpc_seconds",
            "How long calls took.",
            ("method",),
            buckets=BUCKETS_SECONDS,
            registry=self.registry,
        )
        self.serving = Gauge(
            "treering_serving", "1 while a service is well.", ("service",), registry=self.registry
        )
        self.refused_contexts = Counter(
            "treering_refused_contexts", "Caller contexts that nobody of ours signed.", registry=self.registry
        )

    @contextmanager
    def span(self, name: str, kind: SpanKind, traceparent: str | None = None) -> Generator[Span]:
        """A span around the block, within the caller's trace if it sent one."""
        parent = self._propagator.extract({TRACEPARENT: traceparent}) if traceparent else SpanContext()
        with self._tracer.start_as_current_span(
            name, context=parent or None, kind=kind, record_exception=False, set_status_on_exception=False
        ) as span:
            yield span

    def traceparent(self) -> str | None:
        """The current span as it travels to another service."""
        carrier: dict[str, str] = {}
        self._propagator.inject(carrier)
        return carrier.get(TRACEPARENT)

    def exposition(self) -> bytes:
        """All counters in Prometheus' text format."""
        return generate_latest(self.registry)

    def close(self) -> None:
        """Send what is not sent yet."""
        self._provider.shutdown()


def trace_id(span: trace.Span) -> str:
    """A span's trace id, as 32 hex digits."""
    return format_trace_id(span.get_span_context().trace_id)


class Stderr:
    """Standard error as it is at the moment. When nobody reads it, lines are dropped, never calls."""

    def write(self, text: str) -> None:
        """Write what can be written."""
        with suppress(OSError, ValueError):
            sys.stderr.write(text)

    def flush(self) -> None:
        """Hand on what was written."""
        with suppress(OSError, ValueError):
            sys.stderr.flush()


def configure_logging(settings: Settings) -> None:
    """Send structlog's events to standard error. The one thing here that is of the whole process."""
    level = logging.getLevelNamesMapping().get(settings.log_level.upper())
    if level is None:
        raise Refused(
            f"TREERING_LOG_LEVEL must be debug, info, warning or error, not {settings.log_level!r}."
        )
    console = settings.log_format == "console" or (settings.log_format == "auto" and sys.stderr.isatty())
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_content,
    ]
    rendering: Any = (
        structlog.dev.ConsoleRenderer() if console else structlog.processors.JSONRenderer(serializer=_json)
    )
    structlog.configure(
        processors=[*shared, rendering],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, Stderr())),
        cache_logger_on_first_use=False,
    )
    # Libraries log through the standard module; of theirs only what goes wrong is worth a line.
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")


def _json(event: object, **_: object) -> str:
    return orjson.dumps(event, default=str).decode()


def _without_content(_: object, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Tell an exception by its kinds and places. Its words and its variables may be what somebody wrote."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    told: list[str] = []
    while isinstance(error, BaseException) and len(told) < CAUSES_MAX:
        places = traceback.extract_tb(error.__traceback__, limit=-PLACES_MAX)
        told.append(
            " < ".join(
                [type(error).__name__, *(f"{at.filename}:{at.lineno} {at.name}" for at in reversed(places))]
            )
        )
        error = error.__cause__ or error.__context__
    if told:
        event["exception"] = "; because of ".join(told)
    return event
