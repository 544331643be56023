# syntax=docker/dockerfile:1.7
# The image of the server: the program, the libraries that it is linked with, and nothing else. It needs a Redis
# (FANFOLD_REDIS_URL), and writes to /var/lib/fanfold only. See "Containers" in docs/operating.md.

FROM node:22.20.0-bookworm AS pages
WORKDIR /fanfold
COPY . .
RUN make web

FROM rust:1.95.0-bookworm AS build
WORKDIR /fanfold
COPY . .
COPY --from=pages /fanfold/web/ web/
RUN --mount=type=cache,target=/usr/local/cargo/registry --mount=type=cache,target=/fanfold/target \
    cargo build --release --locked --bin fanfold && deploy/image-root target/release/fanfold /image && mkdir /data

FROM scratch
LABEL org.opencontainers.image.title="Fanfold" \
    org.opencontainers.image.description="A self-hosted social graph and feed server: one GraphQL API over Redis." \
    org.opencontainers.image.licenses="MIT OR Apache-2.0"
COPY --from=build /image/ /
# The first to create the directory: a copy into one that exists would leave its owner as it is.
COPY --from=build --chown=10001:10001 --chmod=700 /data/ /var/lib/fanfold/
ENV FANFOLD_DATA_DIR=/var/lib/fanfold FANFOLD_HTTP_LISTEN=0.0.0.0:8080
WORKDIR /var/lib/fanfold
VOLUME /var/lib/fanfold
USER 10001:10001
EXPOSE 8080
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 CMD ["/usr/bin/fanfold", "healthcheck"]
ENTRYPOINT ["/usr/bin/fanfold"]
CMD ["serve"]
