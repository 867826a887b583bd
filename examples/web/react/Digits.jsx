// SPDX-License-Identifier: Apache-2.0
// A component that classifies a picture, and a hook that holds a session.

import { Model, Session } from 'digits';
import { useEffect, useState } from 'react';

const MODEL = new URL('digits/digits.samara', import.meta.url).href;

// {session, error}: a session of the model at an address, for as long as the component is there.
function useSession(address) {
  const [state, setState] = useState({});
  useEffect(() => {
    const gone = new AbortController();
    const loading = Model.load(address, { signal: gone.signal });
    loading.then(
      (model) => { if (!gone.signal.aborted) setState({ session: new Session(model) }); },
      (error) => { if (!gone.signal.aborted) setState({ error }); },
    );
    return () => {
      gone.abort();
      loading.then((model) => model.dispose(), () => {});
    };
  }, [address]);
  return state;
}

export function Digits() {
  const { session, error } = useSession(MODEL);
  const [said, setSaid] = useState('');
  async function classify({ target }) {
    try {
      const { classes } = await session.predict(target.files[0]);
      setSaid(classes.map(({ label, score }) => `${label}: ${(100 * score).toFixed(1)} %`).join('\n'));
    } catch (failure) {
      setSaid(`${failure.name}: ${failure.message}`);
    }
  }
  return (
    <>
      <p>
        One handwritten digit, dark on light:{' '}
        <input id="picture" type="file" accept="image/*" disabled={!session} onChange={classify} />
      </p>
      <pre id="said">{error ? `${error.name}: ${error.message}` : said}</pre>
    </>
  );
}
