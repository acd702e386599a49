# ksched as an image: `docker run --rm -v "$PWD:/work:ro" ghcr.io/OWNER/ksched schedule --state cluster.json`.
# The base is 3.13.15 on Debian 13, by the digest of its index of platforms; Dependabot proposes newer ones.
# Built from the wheel of the release, with its dependencies as .ci/runtime-constraints.txt has them.
FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b AS build
COPY dist/ksched-*.whl .ci/runtime-constraints.txt /build/
RUN python -m venv /opt/ksched \
 && /opt/ksched/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /build/runtime-constraints.txt \
 && /opt/ksched/bin/pip install --no-cache-dir --no-deps --no-index /build/ksched-*.whl \
 && /opt/ksched/bin/python -m compileall -q /opt/ksched/lib \
 && /opt/ksched/bin/pip uninstall --yes --quiet pip

FROM python:3.13-slim@sha256:7c61056e61ac89e852de05f3dc6fa51a6dd2181797bceed46aa725dd7cb2cd3b
# Artifact Hub reads these.
LABEL org.opencontainers.image.title="ksched" \
      org.opencontainers.image.description="kube-scheduler's decisions without a cluster: exact and explained" \
      org.opencontainers.image.source="https://github.com/OWNER/ksched" \
      org.opencontainers.image.url="https://github.com/OWNER/ksched" \
      org.opencontainers.image.documentation="https://github.com/OWNER/ksched/blob/main/docs/index.md" \
      org.opencontainers.image.licenses="Apache-2.0" \
      io.artifacthub.package.readme-url="https://raw.githubusercontent.com/OWNER/ksched/main/README.md" \
      io.artifacthub.package.license="Apache-2.0" \
      io.artifacthub.package.keywords="kubernetes,kube-scheduler,scheduling,simulation"
COPY --from=build /opt/ksched /opt/ksched
# Nothing is written below /opt, so that a read-only root file system does.
ENV PATH=/opt/ksched/bin:$PATH PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["ksched"]
