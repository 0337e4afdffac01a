"""`askfirst serve` and `askfirst tokens`, as an operator runs them."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(90)]


def askfirst(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bot", *arguments]
    return subprocess.run(command, cwd=folder, env=_env(), capture_output=True, text=True, check=False)


def _env() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def test_a_token_is_shown_once_listed_without_its_secret_and_revoked(tmp_path: Path) -> None:
    made = askfirst("tokens", "create", "ci", "--person", "U1", "--scopes", "ask,decide", folder=tmp_path)
    secret = made.stdout.strip()
    assert secret.startswith("askf_")
    listed = askfirst("tokens", "list", folder=tmp_path).stdout
    assert "ci" in listed
    assert secret not in listed
    again = askfirst("tokens", "create", "ci", "--person", "U2", folder=tmp_path)
    assert (again.returncode, "already" in again.stderr) == (2, True)
    wrong = askfirst("tokens", "create", "x", "--person", "U2", "--scopes", "root", folder=tmp_path)
    assert wrong.returncode == 2
    assert askfirst("tokens", "revoke", "ci", folder=tmp_path).returncode == 0
    assert askfirst("tokens", "revoke", "ci", folder=tmp_path).returncode == 2


def test_serve_listens_on_loopback_answers_with_the_real_policy_and_stops_when_told(tmp_path: Path) -> None:
    secret = askfirst(
        "tokens", "create", "ci", "--person", "U1", "--scopes", "ask,read", folder=tmp_path
    ).stdout.strip()
    command = [sys.executable, "-m", "bot", "serve", "--port", "0"]
    with subprocess.Popen(command, cwd=tmp_path, env=_env(), stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().split()[3]
            assert url.startswith("http://127.0.0.1:")
            headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
            explained = _call(
                url + "/api/v1/policy/explain", headers, {"tool": "execute", "args": {"command": "rm -rf /"}}
            )
            assert json.loads(explained)["verdict"]["kind"] in {"ask", "deny"}
            assert json.loads(explained)["heard"]
            told = _call(url + "/api/v1/chat", headers, {"message": "hello"})
            assert "event: done" in told
            assert '"openapi":' in _call(url + "/openapi.json", headers)
            assert "askfirst_runs" in _call(url + "/metrics", headers)
            with pytest.raises(urllib.error.HTTPError):
                _call(url + "/metrics", {})
        finally:
            server.send_signal(signal.SIGTERM)
            assert server.wait(20) == 0


def _call(url: str, headers: dict[str, str], body: object = None) -> str:
    data = json.dumps(body).encode() if body is not None else None
    with urllib.request.urlopen(
        urllib.request.Request(url, data=data, headers=headers), timeout=20
    ) as answer:
        return answer.read().decode()
