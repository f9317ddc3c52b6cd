import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/** Files that may be longer than the house allows, each with its reason. Keep it short. */
const LONG_FILES = [];

const SIZE_RULES = {
  'max-lines': ['error', { max: 400, skipBlankLines: false, skipComments: false }],
  'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
  'max-params': ['error', 3],
};

export default tseslint.config(
  // The programs in interop/peers import packages that are no dependencies: see .ci/frameworks.
  { ignores: ['dist/', 'coverage/', 'node_modules/', 'test/interop/peers/'] },
  js.configs.recommended,
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      ...SIZE_RULES,
      eqeqeq: 'error',
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ExportDefaultDeclaration',
          message: 'Named exports only: a name is what one searches for.',
        },
        {
          selector:
            ':matches(PropertyDefinition, MethodDefinition[kind!="constructor"])[accessibility="private"], TSParameterProperty',
          message: 'Private members are #private: the language keeps them so, not only the compiler.',
        },
      ],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
    },
  },
  {
    files: ['test/**', 'scripts/**', 'examples/**'],
    rules: {
      'max-lines': ['error', { max: 500 }],
      'max-lines-per-function': 'off',
      'no-console': 'off',
      '@typescript-eslint/no-floating-promises': 'error',
    },
  },
  { files: ['*.config.js'], ...tseslint.configs.disableTypeChecked },
  {
    files: ['*.config.js'],
    rules: { ...tseslint.configs.disableTypeChecked.rules, 'no-restricted-syntax': 'off' },
  },
  ...LONG_FILES.map((file) => ({ files: [file], rules: { 'max-lines': 'off' } })),
);
