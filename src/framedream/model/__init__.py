"""The paper's models: frames in, states and predicted frames out.

`variants` and the `*_spec` modules are plain data and import no torch, so that programs can list and choose models
without loading it; `simulator.Simulator` is what everything else calls.
"""
