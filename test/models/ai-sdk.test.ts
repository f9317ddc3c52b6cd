import { describeModelWire } from '../suites/model-wire.js';
import { aiSdkWire } from '../support/ai-sdk-wire.js';

describeModelWire('The provider of packages of the AI SDK', aiSdkWire);
