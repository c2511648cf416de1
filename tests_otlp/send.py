"""Sends each line of a file as a log record, by OpenTelemetry's exporter for Python.

Usage: `python tests_otlp/send.py ENDPOINT FILE FORM`, where FORM is `text` for a line as the text
of the body, or `map` for its fields. It runs where only the exporter is installed.
"""

import json
import sys

from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor


def main(endpoint: str, file: str, form: str) -> None:
    """Send them in order, a hundred in a request."""
    exporter = OTLPLogExporter(f"{endpoint}/v1/logs", compression=Compression.Gzip)
    provider = LoggerProvider()
    processor = BatchLogRecordProcessor(exporter, max_export_batch_size=100, max_queue_size=100_000)
    provider.add_log_record_processor(processor)
    logger = provider.get_logger("claims")
    with open(file) as lines:
        for line in lines:
            body = line.rstrip("\n") if form == "text" else json.loads(line)
            logger.emit(LogRecord(body=body))
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
