# ksched as an image: `docker run --rm -v "$PWD:/work:ro" ghcr.io/OWNER/ksched schedule --state cluster.json`.
# Built from the wheel of the release, with its dependencies as .ci/runtime-constraints.txt has them.
FROM python:3.13-slim AS build
COPY dist/ksched-*.whl .ci/runtime-constraints.txt /build/
RUN python -m venv /opt/ksched \
 && /opt/ksched/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /build/runtime-constraints.txt \
 && /opt/ksched/bin/pip install --no-cache-dir --no-deps --no-index /build/ksched-*.whl \
 && /opt/ksched/bin/python -m compileall -q /opt/ksched/lib \
 && /opt/ksched/bin/pip uninstall --yes --quiet pip

FROM python:3.13-slim
LABEL org.opencontainers.image.source="https://github.com/OWNER/ksched" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/ksched /opt/ksched
# Nothing is written below /opt, so that a read-only root file system does.
ENV PATH=/opt/ksched/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["ksched"]
