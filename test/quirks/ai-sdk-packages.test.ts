import { afterAll } from '@jest/globals';
import { AI_SDK_PACKAGES } from './cases/ai-sdk-packages.js';
import { closePackageStage } from './package-stage.js';
import { describeQuirks } from './quirk.js';

afterAll(closePackageStage);

describeQuirks('a package of the AI SDK', AI_SDK_PACKAGES);
