# planwright as a service: docker build --tag planwright . && docker compose up
FROM rust:1.89-bookworm AS build
WORKDIR /source
COPY . .
RUN cargo build --locked --release --package planwright-cli

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --uid 10001 --create-home --home-dir /data planwright
COPY --from=build /source/target/release/planwright /usr/local/bin/planwright
USER planwright
WORKDIR /data
VOLUME /data
ENV PLANWRIGHT_STORE=/data/threads.db
EXPOSE 8642
HEALTHCHECK --interval=30s --timeout=3s --start-period=10s CMD ["curl", "-fsS", "http://127.0.0.1:8642/readyz"]
# Nothing but what is in the same network reaches it; keys come from `planwright serve keys new`.
ENTRYPOINT ["planwright"]
CMD ["serve", "--listen", "0.0.0.0:8642", "--log", "info"]
