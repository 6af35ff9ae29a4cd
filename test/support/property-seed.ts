import fc from 'fast-check';

// Every run tries the same values, so that a failure says something of the change at hand. PROPERTY_SEED=N tries others.
fc.configureGlobal({ seed: Number(process.env.PROPERTY_SEED ?? 1) });
