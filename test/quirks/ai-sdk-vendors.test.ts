import { afterAll } from '@jest/globals';
import { AI_SDK_VENDORS } from './cases/ai-sdk-vendors.js';
import { closePackageStage } from './package-stage.js';
import { describeQuirks } from './quirk.js';

afterAll(closePackageStage);

describeQuirks('packages of the AI SDK before their vendors', AI_SDK_VENDORS);
