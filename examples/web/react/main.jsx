// SPDX-License-Identifier: Apache-2.0
// Shows the component.

import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { Digits } from './Digits.jsx';

createRoot(document.getElementById('root')).render(<StrictMode><Digits /></StrictMode>);
