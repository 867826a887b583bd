// SPDX-License-Identifier: Apache-2.0
// Hear words in the microphone's sound, or in a recording.

import { fail, say, withModel } from './live.js';

const OTHER = 'other';
let session, last = OTHER, heard = [];

// Answers of the next portion: a word counts once, when it begins.
function hear(answers) {
  for (const { classes: [{ label, score }] } of answers) {
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
  heard = [];
  hear(await session.predict(await audio.decodeAudioData(await file.arrayBuffer())));
  if (!heard.length) say('no word was heard');
}

document.getElementById('listen').onclick = () => session && listen().catch(fail);
const sound = document.getElementById('sound');
sound.onchange = () => session && recording(sound.files[0]).catch(fail);
await withModel('keywords.samara', (opened, { info }) => {
  session = opened;
  say(`ready: ${info.variant}, threads: ${info.threads}`);
});
