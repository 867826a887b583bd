// SPDX-License-Identifier: Apache-2.0
// Hear words in the microphone's sound, or in a recording.

import { expect, fail, onFile, say, withModel } from './live.js';

const OTHER = 'other';
let session, last = OTHER, heard = [];

// Answers of the next portion: a word counts once, when it begins.
function hear(answers) {
  for (const answer of answers) {
    const [{ label, score }] = expect('classes', answer).classes;
    if (label !== OTHER && label !== last) heard.push(`${label} ${score.toFixed(2)}`);
    last = label;
  }
  if (heard.length) say(heard.slice(-10).join('\n'));
}

async function listen() {
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true }), audio = new AudioContext();
  const source = audio.createMediaStreamSource(stream), portions = audio.createScriptProcessor(4096, 1, 1);
  let turn = Promise.resolve();  // portions one after another
  portions.onaudioprocess = ({ inputBuffer }) => {
    const samples = inputBuffer.getChannelData(0).slice();
    turn = turn.then(async () => hear(await session.listen({ samples, rate: audio.sampleRate }))).catch(fail);
  };
  source.connect(portions).connect(audio.destination);
  say('listening');
}

async function recording(file) {
  const audio = new AudioContext();
  [last, heard] = [OTHER, []];
  hear(await session.predict(await audio.decodeAudioData(await file.arrayBuffer())));
  if (!heard.length) say('no word was heard');
  await audio.close();
}

const button = document.getElementById('listen');
button.onclick = () => {
  button.disabled = true;  // one microphone is enough
  listen().catch((error) => {
    button.disabled = false;
    fail(error);
  });
};
onFile('sound', recording);
await withModel('keywords.samara', (opened) => { session = opened; });
