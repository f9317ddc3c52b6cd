import { describeModelWire } from '../suites/model-wire.js';
import { openaiWire } from '../support/openai-wire.js';

describeModelWire('The OpenAI provider', openaiWire);
