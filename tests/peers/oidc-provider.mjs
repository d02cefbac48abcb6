// A strict authorization server for the suites: oidc-provider, consenting without a person. Never reachable from afar.
//
//   node oidc-provider.mjs [PORT]
//
//   PORT               port on 127.0.0.1; 0 or none takes a free one
//   RESOURCES          resources tokens are given for, separated by blanks; the first is the default
//   SCOPES             scopes of these resources, separated by blanks
//   ACCESS_TTL         life of access tokens, in seconds
//   REFRESH_TTL        life of refresh tokens, in seconds
//   DOCUMENT_ROUTES    JSON: https origins whose client documents are read from a loopback origin instead
//
// Prints one line of JSON when it answers: {"issuer": …}. What happens to grants is printed the same way, without tokens.

import { createServer } from 'node:http';
import Provider, { errors } from 'oidc-provider';

const words = (text) => (text ?? '').split(' ').filter(Boolean);
const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

const resources = words(process.env.RESOURCES);
const scopes = words(process.env.SCOPES ?? 'notes:read notes:write');
const accessTtl = Number(process.env.ACCESS_TTL ?? 3600);
const refreshTtl = Number(process.env.REFRESH_TTL ?? 86400);
const routes = JSON.parse(process.env.DOCUMENT_ROUTES ?? '{}');

// The port must be known before the issuer is, and the issuer before the first answer.
let answer = (_request, response) => response.writeHead(503).end();
const server = createServer((request, response) => answer(request, response));
await new Promise((ready) => server.listen(Number(process.argv[2] ?? process.env.PORT ?? 0), '127.0.0.1', ready));
const issuer = `http://127.0.0.1:${server.address().port}`;

const resourceServer = (resource) => ({
  audience: resource,
  scope: scopes.join(' '),
  accessTokenFormat: 'jwt',
  accessTokenTTL: accessTtl,
  jwt: { sign: { alg: 'RS256' } },
});

const provider = new Provider(issuer, {
  clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
  cookies: { keys: ['of-a-test-only'] },
  findAccount: (_context, subject) => ({ accountId: subject, claims: () => ({ sub: subject }) }),
  interactions: { url: (_context, interaction) => `/consent/${interaction.uid}` },
  issueRefreshToken: async (_context, client) => client.grantTypeAllowed('refresh_token'),
  pkce: { required: () => true },
  rotateRefreshToken: true,
  scopes: ['openid', 'offline_access', ...scopes],
  ttl: {
    AccessToken: accessTtl,
    AuthorizationCode: 60,
    DeviceCode: 600,
    Grant: refreshTtl,
    IdToken: 3600,
    Interaction: 600,
    RefreshToken: refreshTtl,
    Session: refreshTtl,
  },
  // A document of a public address comes from the service under test, which has no such address here.
  fetch: (address, options) => {
    const url = new URL(address);
    const route = routes[url.origin];
    return fetch(route ? new URL(url.pathname + url.search, route) : url, options);
  },
  features: {
    clientIdMetadataDocument: { enabled: true, ack: 'draft-02' },
    devInteractions: { enabled: false },
    deviceFlow: { enabled: true },
    introspection: { enabled: true },
    registration: { enabled: true, initialAccessToken: false },
    registrationManagement: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (_context, _client, asked) => asked ?? resources[0],
      getResourceServerInfo: (_context, resource) => {
        if (!resources.includes(resource)) throw new errors.InvalidTarget();
        return resourceServer(resource);
      },
      useGrantedResource: () => true,
    },
    revocation: { enabled: true },
  },
});

for (const event of ['registration_create.success', 'grant.success', 'grant.error', 'grant.revoked']) {
  provider.on(event, (context) => {
    const grantType = context?.oidc?.params?.grant_type;
    say({ event, grant_type: grantType });
  });
}

/** Signs `alice` in, then grants all that was asked. */
async function consent(request, response) {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === 'login') {
    return provider.interactionFinished(request, response, { login: { accountId: 'alice' } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  const { missingOIDCScope = [], missingResourceScopes = {} } = prompt.details;
  if (missingOIDCScope.length > 0) grant.addOIDCScope(missingOIDCScope.join(' '));
  for (const [resource, asked] of Object.entries(missingResourceScopes)) {
    grant.addResourceScope(resource, asked.join(' '));
  }
  const grantId = await grant.save();
  return provider.interactionFinished(request, response, { consent: { grantId } }, { mergeWithLastSubmission: true });
}

const serve = provider.callback();
answer = (request, response) => {
  if (!request.url.startsWith('/consent/')) return serve(request, response);
  return consent(request, response).catch((error) => response.writeHead(400).end(`${error.name}\n`));
};
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
say({ issuer });
