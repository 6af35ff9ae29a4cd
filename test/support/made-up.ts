/** Made-up values of the shape of secrets. None stands in a file in one piece, so that no scanner takes them for real. */

function drawn(length: number, alphabet = 'aZ3kQ9xW1mR7tB5vN8cH2yL6dJ4fP0gS'): string {
  let state = 4711 + length;
  return Array.from({ length }, () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return alphabet[Math.floor((state / 2147483648) * alphabet.length)];
  }).join('');
}

/** A text with a secret in it, and the part of it that must never be stored. */
export type Planted = { readonly text: string; readonly secret: string };

const planted = (before: string, secret: string, after = ''): Planted => ({
  text: before + secret + after,
  secret,
});

export const SECRETS: readonly Planted[] = [
  planted('API_KEY=', `sk-${'live-'}${drawn(24)}`),
  planted('', `gh${'p_'}${drawn(36)}`),
  planted('Authorization: Bearer ', `sk-${'ant-'}api03-${drawn(60)}`),
  planted('postgres://admin:', drawn(16), '@db.example.com/shop'),
  planted('--password ', drawn(14)),
  planted('curl -u admin:', drawn(12), ' https://example.com'),
  planted('{"client_secret": "', drawn(30), '"}'),
  planted('aws_secret_access_key = ', drawn(40)),
  planted('', `AK${'IA'}${drawn(16, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')}`),
  planted('token ', `ey${'J'}${drawn(30)}.ey${'J'}${drawn(40)}.${drawn(43)}`),
];
