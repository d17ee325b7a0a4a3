"""JAAS configurations: what Java's tokenizer makes of a text, and the errors of Kafka."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol_specs.sasl.jaas import JaasError, LoginModule, login_module, login_modules

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


def options(text: str) -> dict[str, str]:
    return dict(login_module(f"{PLAIN} required {text};").options)


def test_a_module_has_its_flag_and_its_options() -> None:
    text = f"{PLAIN} required\n  username=\"alice\"\n  password='secret' user_bob=b-1;"
    assert login_module(text) == LoginModule(
        PLAIN, "REQUIRED", {"username": "alice", "password": "secret", "user_bob": "b-1"}
    )


def test_several_modules_are_read_in_order() -> None:
    assert [module.name for module in login_modules("a.B required; c.D optional x=y;")] == ["a.B", "c.D"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('x="a;b=c"', "a;b=c"),
        (r'x="\"\\\n"', '"\\\n'),
        (r'x="\1017"', "A7"),
        (r'x="\477"', "'7"),
        ('x="it\'s"', "it's"),
        ("x=a /* not = this */", "a"),
        ("x=a // not this\n", "a"),
        ("x=a1.b_$", "a1.b_$"),
        ('x=""', ""),
    ],
)
def test_values_are_read_as_java_reads_them(text: str, value: str) -> None:
    assert options(text) == {"x": value}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Login module not specified"),
        (f"{PLAIN}", "Login module control flag not specified"),
        (f"{PLAIN} =", "Login module control flag is not available"),
        (f"{PLAIN} needed;", "Invalid login module control flag 'needed'"),
        (f"{PLAIN} required x=1;", "Value not specified for key 'x'"),
        (f"{PLAIN} required x=-b;", "Value not specified for key 'x'"),
        (f"{PLAIN} required x y;", "Value not specified for key 'x'"),
        (f"{PLAIN} required x=;", "Value not specified for key 'x'"),
        (f"{PLAIN} required x=y", "not terminated by semi-colon"),
        ("a.B required; c.D required;", "contains 2 login modules, should be 1"),
        ("com.sun.security.auth.module.JndiLoginModule required;", "JndiLoginModule is not allowed"),
    ],
)
def test_errors_are_kafkas(text: str, error: str) -> None:
    with pytest.raises(JaasError, match=error):
        login_module(text)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20))
def test_a_quoted_value_is_returned(value: str) -> None:
    written = value.replace("\\", "\\\\").replace('"', '\\"')
    assert options(f'x="{written}"') == {"x": value}
