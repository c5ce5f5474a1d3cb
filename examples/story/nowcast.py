import couplet

highest = float("-inf")
steps = 0
with couplet.join("nowcast") as universe:
    eta = universe.open_series("eta", box=[(50, 150), (100, 200)])  # holds: the writer waits for it
    for batch in eta.batches(up_to=64):  # each is one read of up to 64 steps
        assert batch.lost == 0
        steps += len(batch)
        highest = max(highest, batch.data.max())  # (steps, 100, 100)
print(f"{steps} steps, highest {highest:.3f}")
