"""What we hold in memory: store, indexers, delta FIFO. Pure: nothing here waits."""
