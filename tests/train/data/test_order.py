"""The order of items: a permutation of each epoch, shares of mixed parts, batches without a doubled image."""

from __future__ import annotations

import numpy as np

from equipoise.train.data.draws import batches, epoch_order


def test_an_epoch_is_a_permutation_that_depends_on_seed_and_epoch():
    order = epoch_order(1, 0, [50])
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() == epoch_order(1, 0, [50]).tolist()
    assert order.tolist() != epoch_order(1, 1, [50]).tolist()
    assert order.tolist() != epoch_order(2, 0, [50]).tolist()


def test_parts_without_weights_are_concatenated():
    for epoch in range(3):
        order = epoch_order(7, epoch, [100, 10])
        assert sorted(order.tolist()) == list(range(110)), "each item once, whatever the sizes of the parts"
    assert (order[:55] < 100).sum() not in (0, 55), "in one mixed order"


def test_mixed_parts_get_their_share_and_a_large_one_is_seen_in_full():
    sizes = [10, 90]
    epochs = [epoch_order(0, epoch, sizes, [1.0, 1.0]) for epoch in range(9)]
    for order in epochs:
        assert len(order) == 100
        assert (order < 10).sum() == 50
    large = np.concatenate(epochs)
    large = large[large >= 10]
    assert set(large.tolist()) == set(range(10, 100))
    assert np.bincount(large, minlength=100)[10:].tolist() == [5] * 90  # 450 draws are five whole rounds
    small = epochs[0][epochs[0] < 10]
    assert np.bincount(small).tolist() == [5] * 10


def test_uneven_weights_add_up():
    order = epoch_order(0, 0, [7, 7, 7], [1, 1, 5])
    assert [int(((order >= 7 * k) & (order < 7 * k + 7)).sum()) for k in range(3)] == [3, 3, 15]


def test_batches_leave_the_rest_out():
    found = batches(np.arange(10), 4)
    assert [batch.tolist() for batch in found] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_no_batch_holds_an_image_twice():
    images = [index // 5 for index in range(500)]  # five captions each, as COCO has
    order = epoch_order(3, 0, [500])
    found = batches(order, 16, images)
    assert len(found) >= 30  # of 31
    for batch in found:
        assert len({images[index] for index in batch}) == 16
    used = np.concatenate(found).tolist()
    assert len(used) == len(set(used))


def test_a_single_image_makes_no_batch_of_two():
    assert batches(np.arange(6), 2, ["same"] * 6) == []
