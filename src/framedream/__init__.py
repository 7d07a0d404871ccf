"""Learn a playable simulator of any pixel environment; measure how far it can be trusted; plan inside it.

An implementation of "Recurrent Environment Simulators" (Chiappa et al., ICLR 2017).
"""

__version__ = "0.1.0"
