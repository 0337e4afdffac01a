"""Hosts on label boundaries, addresses in any notation."""

import pytest

from bot.policy import hosts
from bot.policy.outcome import Unclear


@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f000001/", "https://0177.0.0.1/",
        "https://0/", "https://0.0.0.0/", "https://10.1.2.3/", "https://172.16.0.1/", "https://192.168.0.1/",
        "https://100.64.0.1/", "https://169.254.169.254/", "https://2852039166/", "https://0xa9.0xfe.0xa9.0xfe/",
        "https://0251.0376.0251.0376/", "https://169.254.43518/", "https://[::1]/", "https://[::]/", "https://[fe80::1]/",
        "https://[fd00:ec2::254]/", "https://[::ffff:169.254.169.254]/", "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::a9fe:a9fe]/", "https://[2002:a9fe:a9fe::]/", "https://[::127.0.0.1]/", "https://[fe80::1%25eth0]/",
        "https://localhost/", "https://LOCALHOST./", "https://a.localhost/", "https://metadata.google.internal/",
        "https://db/", "https://printer.local/", "https://user@127.0.0.1/", "https://api.github.com@127.0.0.1/",
        "https://api.github.com:443@169.254.169.254/", "https://127.0.0.1.nip.io/", "https://a-10-0-0-1.sslip.io/",
        "https://１６９.254.169.254/", "https://169。254。169。254/", "https://%31%32%37.0.0.1/", "https://127.0.0.1:8080/",
        "127.0.0.1", "//127.0.0.1/x", "https://224.0.0.1/", "https://99999999999/",
    ],
)  # fmt: skip
def test_private_addresses_are_recognised_in_any_notation(url: str) -> None:
    assert hosts.is_private(url) is True


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
        "https://10.example.com/",
        "https://8.8.8.8.nip.io",
    ],
)
def test_public_addresses_are_public(url: str) -> None:
    assert hosts.is_private(url) is False


@pytest.mark.parametrize(
    "value", [None, 5, "", "https://", "https://api.gіthub.com/", "https://a.com\\@b.com/"]
)
def test_what_is_not_certain_is_unclear(value: object) -> None:
    with pytest.raises(Unclear):
        hosts.is_private(value)


@pytest.mark.parametrize(
    ("url", "matches"),
    [
        ("https://api.github.com/x", True),
        ("https://API.GITHUB.COM./x", True),
        ("https://api.github.com:443/", True),
        ("https://eu.status.example.com/", True),
        ("https://a.b.status.example.com/", True),
        ("https://h.test:8443/", True),
        ("https://status.example.com/", False),
        ("https://evilstatus.example.com/", False),
        ("https://api.github.com.evil.test/", False),
        ("https://xapi.github.com/", False),
        ("https://api.github.com:22/", False),
        ("https://h.test/", False),
        ("https://evil.test/?api.github.com", False),
        ("https://evil.test#@api.github.com", False),
    ],
)
def test_hosts_are_compared_on_label_boundaries(url: str, matches: bool) -> None:
    wanted = hosts.host_matcher(["api.github.com", "*.status.example.com", "h.test:8443"])
    assert wanted(hosts.parse(url)) is matches


@pytest.mark.parametrize(
    "url",
    [
        "https://a.com\\@api.github.com/",
        "https://a\t.com/",
        "https://a@b@c/",
        "https://api.gіthub.com/",
        "https://",
        "x",
    ],
)
def test_a_disputed_host_matches_nothing(url: str) -> None:
    with pytest.raises(Unclear):
        hosts.host_matcher(["api.github.com"])(hosts.parse(url))


def test_user_info_is_seen() -> None:
    assert hosts.parse("https://a:b@c.test/").userinfo
    assert not hosts.parse("https://c.test/@").userinfo
