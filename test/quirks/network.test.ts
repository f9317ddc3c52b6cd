import { NETWORK } from './cases/network.js';
import { describeQuirks } from './quirk.js';

describeQuirks('the network around a server', NETWORK);
