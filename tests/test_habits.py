"""What users of PyTorch and of numpy.random write: JAX's first line, and below it an edit that runs."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import jitkit
import jitkit.numpy as jnp
from jitkit.base import habits

CODE = re.compile(r"`([^`]+)`")
EDITS = {
    **{f"x.{name}": text for name, text in habits.METHODS.items()},
    **{f"{inside}.{name}": text for inside, names in habits.NAMES.items() for name, text in names.items()},
    **{f"{name}=": text for name, (_, text) in habits.KEYWORDS.items()},
}


def namespace():
    x = jnp.arange(6.0).reshape(2, 3)
    params = [jnp.ones(3), jnp.ones(())]
    return {
        "jax": jitkit, "jnp": jnp, "np": np, "x": x, "y": x + 1, "w": jnp.ones((3, 3)), "b": jnp.ones(3), "key": jitkit.random.key(0),
        "mask": x > 2, "value": 0.0, "indices": jnp.array([[0, 1, 0]]), "labels": jnp.array([0, 1]), "logits": x,
        "params": params, "grads": params, "loss": lambda params: (params[0] ** 2).sum() + params[1],
    }  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype")
def test_each_edit_runs(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # one of the edits writes a file
    for code in CODE.findall(EDITS[name]):
        names = namespace()
        if "@ y" in code:
            names["y"] = names["y"].T
        exec(code, names)


@pytest.mark.parametrize("name", [*habits.METHODS, "exp", "pow", "softmax"])
def test_an_attribute_that_arrays_do_not_have_says_what_to_write(name):
    x = jnp.ones((2, 3))
    with pytest.raises(AttributeError) as concrete:
        getattr(x, name)
    first, _, help_ = str(concrete.value).partition("\n")
    assert first == f"'Array' object has no attribute '{name}'"
    assert CODE.search(help_) or help_.startswith("Leave it out")
    with pytest.raises(AttributeError) as traced:
        jitkit.jit(lambda x: getattr(x, name))(x)
    with pytest.raises(AttributeError) as theirs:
        jax.jit(lambda x: getattr(x, name))(np.ones((2, 3)))
    first, _, its_help = str(traced.value).partition("\n")
    assert first.replace("DynamicJaxprTracer", "JitTracer") == str(theirs.value).replace(
        "DynamicJaxprTracer", "JitTracer"
    )
    assert its_help.startswith(help_)


def test_words_of_methods_are_functions_that_exist():
    x = jnp.arange(6.0).reshape(2, 3) / 6
    for name in habits._FUNCTIONS.split():
        getattr(jnp, name)(x)
    assert all(callable(getattr(jnp, name)) for name in habits._OF_MORE.split())
    assert all(callable(getattr(jitkit.nn, name)) for name in habits._OF_NN.split())
    words = {*habits.METHODS, *habits._FUNCTIONS.split(), *habits._OF_MORE.split(), *habits._OF_NN.split()}
    assert not [name for name in words if hasattr(x, name)]


@pytest.mark.parametrize(
    ("inside", "name"), [(inside, name) for inside, names in habits.NAMES.items() for name in names]
)
def test_a_name_that_a_module_does_not_have_says_what_to_write(inside, name):
    ours, theirs = jitkit, jax
    if inside:
        ours, theirs = getattr(ours, inside), getattr(theirs, inside)
    with pytest.raises(AttributeError) as info:
        getattr(ours, name)
    with pytest.raises(AttributeError) as jaxs:
        getattr(theirs, name)
    first, _, help_ = str(info.value).partition("\n")
    assert first.replace("jitkit", "jax") == str(jaxs.value).partition("\n")[0]
    assert help_ == habits.NAMES[inside][name]


CALLS = {
    "jnp.sum(x, dim=0)": "Here it is `axis`",
    "x.sum(dim=0)": "Here it is `axis`",
    "jnp.mean(x, axis=0, keepdim=True)": "Here it is `keepdims`",
    "jax.nn.softmax(x, dim=-1)": "Here it is `axis`",
    "jnp.concatenate([x, x], dim=0)": "Here it is `axis`",
    "jax.random.normal(jax.random.key(0), size=(3,))": "Here it is `shape`",
    "jax.random.uniform(jax.random.key(0), low=0)": "Here it is `minval`",
    "jnp.array([1.0], requires_grad=True)": "There is no such option",
}


@pytest.mark.parametrize("call", CALLS)
def test_a_keyword_of_another_library_s_in_a_traced_function_says_what_it_is_called_here(call):
    said = []
    for library in (jitkit, jax):
        function = eval(f"lambda x: {call}", {"jax": library, "jnp": library.numpy})
        with pytest.raises(TypeError) as info:
            library.jit(function)(np.ones((2, 3), "float32"))
        said.append(str(info.value))
    assert said[0].partition("\n")[0] == said[1].partition("\n")[0].replace("_sum()", "sum()")
    assert CALLS[call] in said[0]
    assert "Here it is" not in said[1]


def test_a_function_of_the_user_s_own_is_not_explained():
    def softmax(x):
        return x

    with pytest.raises(TypeError) as info:
        jitkit.jit(lambda x: softmax(x, dim=0))(1.0)
    assert "\n" not in str(info.value)


def test_what_arrays_refuse_has_the_edit_that_makes_a_new_one():
    x = jnp.arange(6.0).reshape(2, 3)
    with pytest.raises(TypeError, match=r"not callable\nThe index stands in brackets: `x.at\[index\].set\(y\)`"):
        x.at(0)
    with pytest.raises(AttributeError, match=r"__delitem__\nA new array is made: `x = jnp.delete\(x, index\)`"):
        del x[0]
    for shape in ((2, 3), (-1,), ((3, 2),)):
        with pytest.raises(
            (TypeError, NotImplementedError), match=r"The same elements in another shape are `x.reshape"
        ):
            x.view(*shape)
    with pytest.raises(NotImplementedError, match="use the result"):
        jnp.max(x, 0, True)
    assert x.reshape(2, -1).shape == (2, 3)
    assert jnp.delete(x, 0, axis=0).shape == (1, 3)


def test_names_of_tensors_are_not_attributes_of_arrays():
    x = jnp.ones(3)
    assert not any(hasattr(of, name) for of in (x, type(x)) for name in habits.METHODS)
    assert not {*dir(x)} & {*habits.METHODS}
    assert "sum" in dir(x)
    with pytest.raises(AttributeError, match="'Array' object has no attribute 'grad'"):
        x.grad = None
