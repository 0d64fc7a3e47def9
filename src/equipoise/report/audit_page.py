"""An audit as one self-contained HTML page: its Markdown, with the verdict on top."""

from __future__ import annotations

import html

from markdown_it import MarkdownIt  # of rich

from equipoise.audit.page import markdown, verdict
from equipoise.audit.record import Audit
from equipoise.report.page import page_part

MARK = '<meta name="generator" content="equipoise audit">'


def audit_html(audit: Audit) -> str:
    """No request, no script; texts of the benchmark are escaped."""
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown(audit, ending=False))
    body = body.replace("<table>", '<div class="scroll"><table>').replace("</table>", "</table></div>")
    title = html.escape(f"Audit of {audit.benchmark}")
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">{MARK}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><title>{title}</title>'
        f'<style>{page_part("report.css")}</style></head>\n<body><header><p class="brand">equipoise</p>'
        f'<p class="lead">{html.escape(verdict(audit))}</p></header><main>{body}</main></body></html>\n'
    )
