# The images of the nodes of a stack: `lango`, and `full`, which has Chromium and the packages for payments too.
FROM node:24-bookworm-slim AS build
WORKDIR /lango
COPY . .
# What a node loads on use keeps the version of package-lock.json. All else is in the bundle.
RUN npm ci && node -e 'const p = require("./package.json"); \
    for (const name of process.argv.slice(1)) p.dependencies[name] = p.devDependencies[name]; \
    delete p.devDependencies; delete p.workspaces; fs.writeFileSync("package.json", JSON.stringify(p))' \
    pg playwright-core viem @x402/core && npm prune && cp -a node_modules full \
  && npm uninstall --ignore-scripts playwright-core viem @x402/core

FROM node:24-bookworm-slim AS base
RUN apt-get update && apt-get install -y --no-install-recommends bubblewrap && rm -rf /var/lib/apt/lists/*
WORKDIR /lango
RUN ln -s /lango/dist/cli/main.js /usr/local/bin/lango && mkdir /data && chown node:node /data
ENV LANGO_HOME=/data NODE_ENV=production
VOLUME /data
EXPOSE 4100
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s CMD ["node", "-e", "fetch('http://127.0.0.1:4100/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "dist/cli/main.js"]
CMD ["serve"]

FROM base AS lango
COPY --from=build /lango/package.json ./
COPY --from=build /lango/node_modules node_modules
COPY --from=build /lango/dist/built dist/built
COPY --from=build /lango/dist/cli dist/cli
COPY --from=build /lango/dist/console dist/console
COPY --from=build /lango/agent-cards agent-cards
COPY --from=build /lango/prompts prompts
USER node

FROM base AS full
RUN apt-get update && apt-get install -y --no-install-recommends chromium fonts-liberation && rm -rf /var/lib/apt/lists/*
COPY --from=lango /lango ./
COPY --from=build /lango/full node_modules
USER node
