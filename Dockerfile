# The command line, the studio and the curator, as somebody without root. Built from the source tree:
#   docker build -t optimaldp .
#   docker run --rm -v "$PWD:/data:ro" optimaldp release --data /data/survey.csv --question "…" --epsilon 1
#   docker run --rm -p 127.0.0.1:8600:8600 -v "$PWD:/data" optimaldp studio --host 0.0.0.0 --port 8600 --data /data/survey.csv
#   docker compose up      # the curator with PostgreSQL: compose.yaml
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir build && python -m build --wheel --outdir /wheels .

FROM python:3.13-slim
ARG EXTRAS=studio,service,postgres,plots,solvers
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(echo /wheels/*.whl)[${EXTRAS}]" && rm -rf /wheels \
    && useradd --create-home --uid 1000 steward
USER steward
WORKDIR /data
EXPOSE 8600 8080
ENTRYPOINT ["optimaldp"]
CMD ["--help"]
