# One image for every node of a stack; what a node is comes from its configuration alone.
FROM node:24-bookworm-slim AS build
WORKDIR /lango
COPY . .
RUN npm ci && npm prune --omit=dev

FROM node:24-bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
WORKDIR /lango
COPY --from=build /lango/package.json ./
COPY --from=build /lango/node_modules node_modules
COPY --from=build /lango/dist/cli dist/cli
COPY --from=build /lango/agent-cards agent-cards
COPY --from=build /lango/prompts prompts
RUN mkdir /data && chown node:node /data
USER node
ENV LANGO_HOME=/data NODE_ENV=production
VOLUME /data
EXPOSE 4100
HEALTHCHECK --interval=10s --timeout=3s CMD ["node", "-e", "fetch('http://127.0.0.1:4100/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["serve"]
