import { describeModelWire } from '../suites/model-wire.js';
import { anthropicWire } from '../support/anthropic-wire.js';

describeModelWire('The Anthropic provider', anthropicWire);
