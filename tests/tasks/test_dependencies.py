"""Graphs of tasks: whatever is tried, there is never a circle, and it is drawn."""

from graphlib import CycleError, TopologicalSorter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridge.tasks.circles import TaskCircle, find_circle, path

NODES = st.integers(1, 8)
GRAPHS = st.dictionaries(NODES, st.sets(NODES, max_size=4), max_size=8)


def is_sound(graph):
    try:
        [*TopologicalSorter(graph).static_order()]
    except CycleError:
        return False
    return True


@given(GRAPHS)
def test_a_circle_is_found_where_there_is_one(graph):
    circle = find_circle(graph)

    assert bool(circle) is not is_sound(graph)
    if circle:
        assert circle[0] == circle[-1]
        assert len({*circle}) == len(circle) - 1
        assert all(after in graph[before] for before, after in pairwise(circle))


@given(GRAPHS, NODES, NODES)
def test_a_path_is_a_shortest_one(graph, start, end):
    found = path(start, end, lambda each: sorted(graph.get(each, ())))

    reached, rounds = {start}, 1
    while end not in reached:
        more = reached | {b for a in reached for b in graph.get(a, ())}
        if more == reached:
            assert found == ()
            return
        reached, rounds = more, rounds + 1
    assert len(found) == rounds
    assert (found[0], found[-1]) == (start, end)
    assert all(after in graph[before] for before, after in pairwise(found))


@pytest.fixture(scope="module")
def eight(tmp_path_factory):
    from storeworld import store_in

    from bridge.tasks.task import NewTask
    from bridge.tasks.tasks import Tasks

    tasks = Tasks(store_in(tmp_path_factory.mktemp("tasks")))
    tasks.create_all([NewTask(f"task {n}") for n in range(1, 9)])
    return tasks


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(NODES, NODES), max_size=12))
def test_no_sequence_of_edges_closes_a_circle(eight, edges):
    """Each edge is refused exactly if it would, and the circle is a real one."""
    with eight.database.write() as connection:
        connection.execute("DELETE FROM dependencies")
    graph = {n: set() for n in range(1, 9)}
    for task, on in edges:
        wanted = {**graph, task: graph[task] | {on}}
        if is_sound(wanted):
            assert on in eight.depend(task, on).depends_on
            graph = wanted
        else:
            with pytest.raises(TaskCircle) as refused:
                eight.depend(task, on)
            circle = refused.value.numbers
            assert circle[:2] == (task, on)
            assert all(after in wanted[before] for before, after in pairwise(circle))
    assert {t.number: {*t.depends_on} for t in eight.list()} == graph
