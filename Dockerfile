# Three images: `sandbox` runs programs that nobody trusts, `web` serves the pages, `worker` is kb worker with bubblewrap.
# sandbox/engine/prepare.sh builds the first, and makes BASE itself where no registry can be reached.
# Wheels that lie in the context's wheels/ are used before others. PIP_OPTIONS goes to pip: `--no-index` where there are
# wheels for everything, an index of builds without CUDA for a smaller sandbox.
ARG BASE=python:3.11-slim

FROM ${BASE} AS sandbox-build
LABEL kb.stage=build
ARG PIP_OPTIONS=""
COPY constraints.txt wheels/*.whl /wheels/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --find-links /wheels -c /wheels/constraints.txt ${PIP_OPTIONS} \
      torch numpy setuptools \
 && /opt/venv/bin/pip uninstall --yes --quiet pip \
 && /opt/venv/bin/python -c "import torch, numpy, setuptools"

FROM ${BASE} AS sandbox
ARG RECIPE=unknown
LABEL kb.sandbox.recipe=${RECIPE}
COPY --from=sandbox-build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin
USER 65534:65534
WORKDIR /
ENTRYPOINT ["/opt/venv/bin/python"]

# Nothing is installed here whose hash is not in locks/: neither what the page needs nor what builds it.
FROM ${BASE} AS web-build
LABEL kb.stage=build
ARG PIP_OPTIONS=""
COPY constraints.txt wheels/*.whl wheels/*.tar.gz /wheels/
COPY pyproject.toml hatch_build.py README.md LICENSE /src/
COPY locks /src/locks
COPY kb /src/kb
COPY sandbox /src/sandbox
COPY webapp /src/webapp
COPY entries /src/entries
RUN python3 -m venv /opt/build \
 && /opt/build/bin/pip install --no-cache-dir --find-links /wheels ${PIP_OPTIONS} --require-hashes -r /src/locks/build.txt \
 && /opt/build/bin/pip wheel --no-cache-dir --find-links /wheels ${PIP_OPTIONS} --require-hashes --no-build-isolation --no-deps \
      --wheel-dir /opt/wheels -r /src/locks/web.txt \
 && /opt/build/bin/pip wheel --no-build-isolation --no-deps --wheel-dir /opt/wheels /src \
 && python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --no-index --no-deps /opt/wheels/*.whl \
 && /opt/venv/bin/pip uninstall --yes --quiet pip setuptools \
 && mkdir /data

FROM ${BASE} AS web
COPY --from=web-build /opt/venv /opt/venv
COPY --from=web-build --chown=65534:65534 /data /data
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 PYTHONUNBUFFERED=1 KB_CACHE=/tmp/kb
USER 65534:65534
WORKDIR /
EXPOSE 8000
CMD ["kb", "serve", "--host", "0.0.0.0", "--port", "8000"]

# Programs run in bubblewrap inside this container, with the torch of the sandbox's image, as a user without rights.
FROM ${BASE} AS worker
RUN apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends bubblewrap \
 && rm -rf /var/lib/apt/lists/*
COPY --from=web-build /opt/venv /opt/venv
COPY --from=sandbox-build /opt/venv /opt/torch
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 PYTHONUNBUFFERED=1 KB_CACHE=/tmp/kb
USER 65534:65534
WORKDIR /
CMD ["kb", "worker", "--backend", "bubblewrap", "--python", "/opt/torch/bin/python"]
