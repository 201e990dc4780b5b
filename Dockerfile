# Two images: `sandbox` runs programs that nobody trusts, `web` serves the pages. sandbox/engine/prepare.sh builds the
# first, and makes BASE itself where no registry can be reached. Wheels lying in the context's wheels/ are used first.
ARG BASE=python:3.11-slim

FROM ${BASE} AS sandbox-build
LABEL kb.sandbox.stage=build
ARG PIP_OPTIONS="--extra-index-url https://download.pytorch.org/whl/cpu"
COPY constraints.txt wheels/*.whl /wheels/
RUN python3 -m venv /opt/venv \
 && /opt/venv/bin/pip install --no-cache-dir --find-links /wheels -c /wheels/constraints.txt ${PIP_OPTIONS} torch numpy \
 && /opt/venv/bin/pip uninstall --yes --quiet pip setuptools \
 && /opt/venv/bin/python -c "import torch, numpy"

FROM ${BASE} AS sandbox
ARG RECIPE=unknown
LABEL kb.sandbox.recipe=${RECIPE}
COPY --from=sandbox-build /opt/venv /opt/venv
ENV PATH=/opt/venv/bin:/usr/local/bin:/usr/bin:/bin
USER 65534:65534
WORKDIR /
ENTRYPOINT ["/opt/venv/bin/python"]
