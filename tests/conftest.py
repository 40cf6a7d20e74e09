"""What every test may use: the plugin of the workshop; and how several workers share the files and report."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

pytest_plugins = ["workbench.testing.plugin", "pytester"]


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are processors, since a third of the time a test waits for a kernel to start or to die."""
    return min((os.cpu_count() or 1) + 1, 6)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the files that take long first, so that the last ones are short and every worker ends with them."""
    long = {item.path for item in items if item.get_closest_marker("browser") or item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let no worker end over half of a character in what a test logged: execnet sends UTF-8 alone."""
    report = yield
    report.sections = [(name, text.encode(errors="replace").decode()) for name, text in report.sections]
    return report
